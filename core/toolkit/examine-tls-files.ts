import { ConfigError } from '../contract/errors.js'
import type { Examination } from '../contract/examination.js'
import { certificatesIn, outOfDate } from './certificates.js'
import type { TlsFiles, TlsTexts } from './files/tls-files.js'

const SOON_DAYS = 14
const DAY = 86_400_000

const SILENT = { info() {}, warn() {} }

/** Examines the files of one side of TLS; returns undefined when the gateway would not start with them. */
export function examineTlsFiles(
  examination: Examination,
  open: (context: Pick<Examination, 'path'> & { readonly log: typeof SILENT }) => TlsFiles,
): TlsTexts | undefined {
  const { path, wrong } = examination
  try {
    const files = open({ path, log: SILENT })
    files.close()
    examineTimes(examination, files.texts)
    return files.texts
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    for (const { place, message } of error.problems)
      wrong(`certificate (${place})`, 'TLS_FILES', message, 'correct the path, or the content of the file')
    return undefined
  }
}

/** The certificate that expires first decides. */
function examineTimes({ ok, warning, wrong }: Examination, { cert = '', ca = '' }: TlsTexts): void {
  const all = [...certificatesIn(cert), ...certificatesIn(ca)]
  if (all.length === 0) return
  const now = Date.now()
  const faults = outOfDate(all, now)
  for (const fault of faults)
    wrong('certificate', 'TLS_EXPIRED', fault, 'put a new certificate into the file')
  if (faults.length > 0) return
  const first = Math.min(...all.map(({ validTo }) => Date.parse(validTo)))
  const until = `valid until ${new Date(first).toISOString()}`
  if (first - now > SOON_DAYS * DAY) ok('certificate', until)
  else
    warning(
      'certificate',
      'TLS_EXPIRES_SOON',
      until,
      'renew the certificate; the gateway reads the new file by itself',
    )
}
