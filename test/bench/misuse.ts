/** What was asked for cannot be done. The message is all that who asked is told. */
export class Misuse extends Error {}

/** Does the work of a command; a mistake of who calls it is a line and the exit code 2. */
export async function commanded(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof Misuse || isParseError(error))) throw error
    process.stderr.write(`${error.message}\n--help tells what there is\n`)
    process.exitCode = 2
  }
}

const isParseError = (error: unknown): error is Error =>
  error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS')
