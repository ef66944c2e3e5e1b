import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TlsFiles } from './task.js'

/** A certificate for loopback in this folder, created at the first call. */
export function certificateIn(home: string): TlsFiles {
  const files = { cert: join(home, 'tls.crt'), key: join(home, 'tls.key'), both: join(home, 'tls.pem') }
  if (existsSync(files.both)) return files
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', files.key]
  const names = ['-subj', '/CN=bench', '-addext', 'subjectAltName=IP:127.0.0.1']
  execFileSync('openssl', ['req', '-x509', ...key, '-out', files.cert, '-days', '2', ...names], {
    stdio: 'ignore',
  })
  writeFileSync(files.both, readFileSync(files.cert, 'utf8') + readFileSync(files.key, 'utf8'))
  return files
}
