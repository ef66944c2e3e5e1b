import { type AuditEvent, AuditSink, ConfigError, definePlugin } from 'sallyport'
import { byteSize } from 'sallyport/toolkit'
import { z } from 'zod'
import { Delivery, type Destination } from './delivery.js'
import { AuditFile } from './file/audit-file.js'
import { checkPath, writeFailure } from './file/path-check.js'
import { lossReport } from './losses.js'

const LIMITS: Destination['limits'] = {
  delay: 100,
  lines: 10_000,
  bytes: 1024 * 1024,
  backoff: [500, 5_000],
}

/** A sink that names its file, so that two entries with the same file are found. */
type FileSink = AuditSink & { readonly auditFile: string }

export default definePlugin({
  name: 'audit/file',
  api: 1,
  summary: 'Writes one line of JSON for each call, with caller, name and outcome, to a file that it rotates.',
  provides: [AuditSink],
  options: z.strictObject({
    path: z.string().min(1).describe('the file; its folder has to be there'),
    maxBytes: byteSize(64 * 1024)
      .prefault('100MiB')
      .describe('how large the file may become before it is renamed to `.1`; `0`: it is never renamed'),
    keep: z.int().min(1).max(1000).default(5).describe('how many full files stay: `.1` is the newest'),
  }),

  async setup(gateway, { path: given, maxBytes, keep }) {
    const { log } = gateway
    const { path, mode = 0 } = await usable(gateway.path(given), maxBytes > 0)
    const report = lossReport(gateway)
    if ((mode & READABLE_BY_ALL) !== 0 && process.platform !== 'win32')
      log.warn({ path }, 'the audit file is readable by everybody on this machine')
    const onUnrotated = (reason: string): void =>
      report.log('warn', 'the audit file cannot be rotated, and grows', { path, reason })
    const file = new AuditFile(path, { maxBytes, keep, log, onUnrotated })
    await file.open().catch((cause: unknown) => {
      throw mistake(`cannot write ${path}: ${writeFailure(cause)}`, cause)
    })
    gateway.onStop(() => {
      report.flush()
      return file.close()
    })

    const destination: Destination = { report, limits: LIMITS, deliver: (lines) => file.deliver(lines) }
    const delivery = gateway.share(
      path,
      () => new Delivery(destination),
      (shared) => shared.end(),
    )
    // Only now: a list whose start fails gets no lines.
    gateway.onReady(() => delivery.join(destination))
    gateway.onStop(() => delivery.leave(destination))
    const sink: FileSink = Object.assign((event: AuditEvent) => delivery.add(event), { auditFile: path })
    gateway.provide(AuditSink, sink)
    const sinks = gateway.use(AuditSink)
    gateway.onStart(() => {
      const isTwice = sinks().some(
        (other) => other !== sink && 'auditFile' in other && other.auditFile === path,
      )
      if (isTwice)
        throw mistake(`two entries of the list write ${path}: every event would be in it twice; remove one`)
    })
  },

  async examine({ path, ok, wrong, warning }, { path: given, maxBytes }) {
    const checked = await checkPath(path(given), maxBytes > 0)
    if ('fault' in checked)
      wrong('file', 'AUDIT_FILE', checked.fault, 'the gateway does not start without it')
    else if (((checked.mode ?? 0) & READABLE_BY_ALL) !== 0)
      warning(
        'file',
        'AUDIT_FILE_OPEN',
        `${checked.path} is readable by everybody`,
        `chmod 600 ${checked.path}`,
      )
    else ok('file', `${checked.path} can be written`)
  },
})

const READABLE_BY_ALL = 0o004

async function usable(given: string, rotates: boolean) {
  const checked = await checkPath(given, rotates)
  if ('fault' in checked) throw mistake(checked.fault)
  return checked
}

const mistake = (message: string, cause?: unknown): ConfigError =>
  new ConfigError([{ place: 'path', message }], { cause })
