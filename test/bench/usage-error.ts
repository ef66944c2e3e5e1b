/** The command line is wrong, or cannot be done here. The user sees its message alone. */
export class UsageError extends Error {}

/** Runs a command. A `UsageError` prints a line and sets the exit code 2. */
export async function runCommand(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof UsageError || isParseError(error))) throw error
    process.stderr.write(`${error.message}\nsee --help\n`)
    process.exitCode = 2
  }
}

const isParseError = (error: unknown): error is Error =>
  error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS')
