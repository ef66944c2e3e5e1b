// Imports nothing and uses no new syntax: an old Node must be able to run this file.
const OLDEST = 24

/** Whether this Node can run the program. When it cannot, prints so and sets the exit code. */
export function nodeIsRecent(): boolean {
  if (Number.parseInt(process.versions.node, 10) >= OLDEST) return true
  process.stderr.write(`sallyport needs Node ${OLDEST} or later, this is ${process.versions.node}\n`)
  process.exitCode = 2
  return false
}
