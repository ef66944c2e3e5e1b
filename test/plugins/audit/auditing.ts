import type { TestContext } from 'node:test'
import { type List, Telemetry } from 'sallyport'
import { boot } from 'sallyport/embed'
import { contextFor, recordedLog } from '#kit/booted.js'
import { providing } from '#kit/plugin.js'
import { feeder } from './feeder.js'

export const WAITING = 'audit events cannot be stored, and wait in memory'
export const LOSING = 'audit events are being lost'
export const AGAIN = 'audit events are stored again'
export const LOST = 'audit events were lost'

/** A list with this entry, its log lines, and its count of lost events. */
export async function auditing(
  t: TestContext,
  entry: List[number],
  more: Parameters<typeof contextFor>[0] = {},
) {
  const { log, lines } = recordedLog()
  const { plugin, feed } = feeder()
  const losses: number[] = []
  const telemetry = providing('telemetry', Telemetry, {
    measure: ({ name }, value) => void (name === 'sallyport_audit_lost_total' && losses.push(value)),
  })
  const running = await boot([telemetry, entry, { use: plugin }], contextFor({ log, ...more }))
  await running.ready({})
  t.after(() => running.stop())
  const said = (wanted: string) => lines.filter(({ msg }) => msg === wanted)
  const lost = (): number => losses.reduce((sum, each) => sum + each, 0)
  return { running, feed, said, lines, losses, lost }
}
