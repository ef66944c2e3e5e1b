import type { Examination } from 'sallyport'
import { messageOf } from 'sallyport/toolkit'
import type { HttpOptions } from './options.js'
import { fetcherFor, requestOf } from './receiver.js'

/** Sends a request without an event, which shows whether the receiver is there and takes the token. */
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
  const answer = `the receiver answers a request without events with ${status}`
  if (status >= 200 && status < 300) ok('receiver', answer)
  else if (status === 401 || status === 403)
    wrong('receiver', 'AUDIT_REFUSED', answer, 'check the token, and that it may write there')
  else if (status === 400 || status === 422) ok('receiver', `${answer}: it reads events, and there was none`)
  else if (status === 404 || status === 405 || status === 415)
    wrong('receiver', 'AUDIT_UNKNOWN', answer, 'check the path of `url`, and `format`')
  else
    warning(
      'receiver',
      'AUDIT_UNCLEAR',
      answer,
      'ask whoever runs it; until it takes them, events wait in memory',
    )
}
