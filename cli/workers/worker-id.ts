const NUMBER_VARIABLE = 'SALLYPORT_WORKER_NUMBER'

/** The environment that makes a process a worker. Its command line is that of the primary process. */
export const workerEnvironment = (number: number): Record<string, string> => ({
  [NUMBER_VARIABLE]: String(number),
})

/** The number of this worker; undefined in a process that no primary started, even when the variable is set. */
export function workerNumber(environment: NodeJS.ProcessEnv): number | undefined {
  const text = environment[NUMBER_VARIABLE]
  // Child processes of a worker are no workers.
  delete environment[NUMBER_VARIABLE]
  return text === undefined || process.send === undefined ? undefined : Number(text)
}
