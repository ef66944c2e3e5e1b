import { type SpawnSyncReturns, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { eventually } from './captured-log.js'
import { folder } from './folder.js'
import { freePort } from './free-port.js'
import { spawned } from './spawned.js'

/** Why a test has no Prometheus and promtool; undefined when it has. */
export const noPrometheus: string | undefined = ['prometheus', 'promtool'].every(
  (name) => spawnSync(name, ['--version']).status === 0,
)
  ? undefined
  : 'prometheus or promtool is not installed'

export const promtool = (args: readonly string[], input = ''): SpawnSyncReturns<string> =>
  spawnSync('promtool', args, { encoding: 'utf8', input })

/** Starts a Prometheus that scrapes these addresses, and returns a function that queries its API. */
export async function scraping(t: TestContext, targets: readonly string[]) {
  const home = folder(t, {
    'prometheus.json': JSON.stringify({
      global: { scrape_interval: '200ms', scrape_timeout: '200ms' },
      scrape_configs: [
        { job_name: 'sallyport', static_configs: [{ targets: targets.map((url) => new URL(url).host) }] },
      ],
    }),
  })
  const address = `127.0.0.1:${await freePort()}`
  spawned(
    t,
    [
      'prometheus',
      `--config.file=${join(home, 'prometheus.json')}`,
      `--storage.tsdb.path=${join(home, 'data')}`,
      `--web.listen-address=${address}`,
      '--enable-feature=exemplar-storage',
      '--log.level=error',
    ],
    { stdio: 'ignore' },
  )
  /** Returns `data` of the response: https://prometheus.io/docs/prometheus/latest/querying/api/ */
  const ask = async (path: string, query: Readonly<Record<string, string>>) => {
    const response = await fetch(`http://${address}/api/v1/${path}?${new URLSearchParams(query)}`)
    const { data } = JSON.parse(await response.text())
    return data
  }
  await eventually(() =>
    fetch(`http://${address}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    ),
  )
  return { ask }
}
