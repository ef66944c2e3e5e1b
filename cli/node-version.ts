// Imports nothing and uses no new syntax: an old Node must be able to run this file.
const wanted = [20, 19]

/** Whether this Node can run the program. When it cannot, prints so and sets the exit code. */
export function nodeIsRecent(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const [wantedMajor = 0, wantedMinor = 0] = wanted
  if (major > wantedMajor || (major === wantedMajor && minor >= wantedMinor)) return true
  process.stderr.write(
    `sallyport needs Node ${wanted.join('.')} or later, this is ${process.versions.node}\n`,
  )
  process.exitCode = 2
  return false
}
