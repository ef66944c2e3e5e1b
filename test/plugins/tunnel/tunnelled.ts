import assert from 'node:assert/strict'
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import type { BootContext, GatewayServer } from 'sallyport/embed'
import { TunnelSettings, tunnel } from 'sallyport/presets/tunnel'
import { recordedLog, serving } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { listening } from '#kit/listening.js'
import { type StartedProgram, startedProgram } from '#kit/started-program.js'

// Seconds: starting the program takes long on a busy machine.
const PATIENCE = 40

/** `sallyport proxy tunnel` as a user starts it, once its ready line is printed. */
export async function started(
  t: TestContext,
  flags: readonly string[],
): Promise<{ readonly proxy: StartedProgram; readonly url: string }> {
  const argv = [
    'proxy',
    'tunnel',
    'test',
    `--target-uri=${await hello(t)}`,
    '--allow-unauthenticated',
    ...flags,
  ]
  const proxy = startedProgram(t, argv)
  const line = /^sallyport proxy "test" reachable at (\S+) by a tunnel to http:\S+ -> http:\S+\n$/
  const url = await eventually(() => {
    assert.equal(proxy.process.exitCode, null, proxy.output.stderr)
    return line.exec(proxy.output.stdout)?.[1]
  }, PATIENCE)
  return { proxy, url }
}

export interface Tunnelled {
  readonly running: GatewayServer
  /** The public URL, and that of the proxy itself. */
  readonly url: () => string
  readonly main: string
  /** Log messages about the tunnel, in order. */
  readonly said: () => string[]
  /** Resolves when the log has this message. */
  until(message: RegExp): Promise<void>
  readiness(): Promise<{ readonly status: number; readonly text: string }>
}

/** The same proxy in the process of the test. Stopped when the test ends. */
export async function tunnelled(
  t: TestContext,
  settings: object,
  given: Partial<BootContext> = {},
): Promise<Tunnelled> {
  const { log, lines } = recordedLog()
  const said = (): string[] =>
    lines.filter(({ plugin }) => plugin === 'tunnel/connection').map(({ msg }) => String(msg))
  const running = await serving(
    t,
    tunnel(
      TunnelSettings.parse({
        targetUri: await hello(t),
        internalAddress: '127.0.0.1:0',
        ...('oidcIssuer' in settings ? {} : { allowUnauthenticated: true }),
        ...settings,
      }),
    ),
    { log, ...given },
  )
  const { main = '', internal } = running.addresses
  return {
    running,
    main,
    url: () => running.addresses.public ?? '',
    said,
    until: async (message) => void (await eventually(() => said().find((each) => message.test(each)))),
    async readiness() {
      const answer = await fetch(`${internal}/readiness`)
      return { status: answer.status, text: await answer.text() }
    },
  }
}

const hello = (t: TestContext): Promise<string> =>
  listening(t, (_request, response) => void response.end('hello'))

/** The status of a GET with these headers; `fetch` cannot set `Host`. */
export async function statusOf(url: string, headers: Readonly<Record<string, string>> = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { headers, agent: false }, (response) => {
      text(response).then(() => resolve(response.statusCode ?? 0), reject)
    })
    asked.on('error', reject).end()
  })
}
