import type { Examination } from 'sallyport'
import { messageOf } from 'sallyport/toolkit'
import type { HttpOptions } from './options.js'
import { fetcherFor, requestOf } from './receiver.js'

/** Sends a request without events, which shows whether the receiver responds and accepts the token. */
export async function examineReceiver(examination: Examination, options: HttpOptions): Promise<void> {
  const { path, probes } = examination
  const { url, caCertPath, allowPrivateIP } = options
  const privateOption = allowPrivateIP ? undefined : 'allowPrivateIP: true'
  if (!(await probes.reach(url, { caFile: path(caCertPath), privateOption }))) return
  try {
    const fetcher = fetcherFor(examination, options)
    try {
      report(examination, await fetcher.fetch(url, requestOf(options, '')))
    } finally {
      await fetcher.close()
    }
  } catch (error) {
    examination.wrong('receiver', 'AUDIT_UNSENT', messageOf(error), 'correct the path of a file, or the URL')
  }
}

function report({ ok, warning, wrong }: Examination, { status }: Response): void {
  const response = `the receiver responds to a request without events with ${status}`
  if (status >= 200 && status < 300) ok('receiver', response)
  else if (status === 401 || status === 403)
    wrong('receiver', 'AUDIT_REFUSED', response, 'check the token, and that it may write there')
  else if (status === 400 || status === 422)
    ok('receiver', `${response}: it reads events, and the request had none`)
  else if (status === 404 || status === 405 || status === 415)
    wrong('receiver', 'AUDIT_UNKNOWN', response, 'check the path of `url`, and `format`')
  else warning('receiver', 'AUDIT_UNCLEAR', response, 'ask its operator; meanwhile events wait in memory')
}
