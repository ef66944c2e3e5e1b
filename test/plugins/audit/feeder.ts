import { type AuditEvent, AuditSink, definePlugin, type Plugin } from 'sallyport'

/** A plugin that hands events to every sink of its list, as the kernel does. */
export function feeder(): { readonly plugin: Plugin; feed(event: AuditEvent): void } {
  let sinks: readonly AuditSink[] = []
  const plugin = definePlugin({
    name: 'feeder',
    api: 1,
    setup(gateway) {
      const all = gateway.use(AuditSink)
      gateway.onStart(() => {
        sinks = all()
      })
    },
  })
  return {
    plugin,
    feed(event) {
      for (const sink of sinks) sink(event)
    },
  }
}

export const event = (requestId: string, more: Partial<AuditEvent> = {}): AuditEvent => ({
  kind: 'called',
  at: '2030-01-01T00:00:00.000Z',
  requestId,
  method: 'POST',
  route: '/mcp',
  status: 200,
  ...more,
})

export const idsIn = (text: string): string[] =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line).requestId)

export const upTo = (count: number, prefix = ''): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`)
