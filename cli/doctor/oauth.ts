import { createServer } from 'node:net'
import { createFetcher, insecureHttpAllowed } from 'sallyport'
import { z } from 'zod'
import { Chart } from '../findings/chart.js'
import { examineConnection } from './connection.js'
import { openIdFirst } from './documents.js'
import { examineServer } from './walk.js'

/** The options of a login that say where it goes. */
const login = z.object({
  issuer: z.string().optional(),
  tokenUrl: z.string().optional(),
  grant: z.string(),
  callbackPort: z.number(),
  callbackPortFixed: z.boolean(),
})

/** Looks at what signing in will need: the way back from the browser, and the server that is named. */
export async function examineLogin(
  about: string,
  options: unknown,
  hasClient: boolean,
): Promise<Chart['findings']> {
  const chart = new Chart(about)
  const { data } = login.safeParse(options)
  if (data === undefined) return chart.findings
  const { issuer, tokenUrl, grant, callbackPort, callbackPortFixed } = data
  if (grant === 'authorization_code' && callbackPort > 0)
    await examineCallback(chart, callbackPort, callbackPortFixed)
  if (tokenUrl !== undefined) await examineConnection(chart, tokenUrl, {})
  // Without one the target names it, and it is found on the way from there.
  if (issuer === undefined || !(await examineConnection(chart, issuer, {}))) return chart.findings
  const fetcher = createFetcher({ allowPrivate: true, allowInsecureHttp: insecureHttpAllowed() })
  try {
    const client = { hasClient, redirects: grant === 'authorization_code', vouched: true }
    await examineServer(chart, issuer, fetcher.fetch, { places: openIdFirst(issuer), client })
  } finally {
    await fetcher.close()
  }
  return chart.findings
}

async function examineCallback(chart: Chart, port: number, fixed: boolean): Promise<void> {
  const server = createServer()
  const code = await new Promise<string | undefined>((resolve) => {
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'unknown'))
    server.listen(port, '127.0.0.1', () => resolve(undefined))
  })
  if (code === undefined) {
    server.close()
    chart.ok('callback', `port ${port} is free for the browser to come back to`)
    return
  }
  const detail = `port ${port}, to which the browser comes back, cannot be had (${code})`
  if (fixed) {
    const advice = 'stop what holds it (a gateway that runs already?), or set --remote-auth-callback-port'
    chart.wrong('callback', 'CALLBACK_BUSY', detail, advice)
  } else
    chart.warning('callback', 'CALLBACK_BUSY', detail, 'another free port is taken when it comes to that')
}
