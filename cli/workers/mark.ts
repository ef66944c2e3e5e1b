const MARK = 'SALLYPORT_WORKER_NUMBER'

/** What tells a process that it is to be this worker: it has the command line of the primary. */
export const markOf = (number: number): Record<string, string> => ({ [MARK]: String(number) })

/** The number of this worker. Nothing in a process that no primary started, whatever its environment says. */
export function ownNumber(): number | undefined {
  const text = process.env[MARK]
  // What this process starts is no worker.
  delete process.env[MARK]
  return text === undefined || process.send === undefined ? undefined : Number(text)
}
