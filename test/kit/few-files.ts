import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { ownSources } from './own-sources.js'

/** `fill(left)` opens files until the process can open only `left` more; the function that it returns closes them. */
const FILL = `
  import { closeSync, openSync } from 'node:fs'
  function fill(left = 0) {
    const opened = []
    try {
      for (;;) opened.push(openSync('/dev/null'))
    } catch (error) {
      if (error.code !== 'EMFILE') throw error
    }
    for (const file of opened.splice(0, left)) closeSync(file)
    return () => opened.forEach((file) => closeSync(file))
  }`

/** Runs a module in a process that may open few files. The module can call `fill`. Returns the JSON that it prints. */
export function withFewFiles(module: string): unknown {
  const limited = ['-c', 'ulimit -n 256; exec "$@"', 'sh', process.execPath, ...ownSources.node]
  const { stdout, stderr } = spawnSync('sh', [...limited, '--input-type=module', '--eval', FILL + module], {
    cwd: ownSources.folder,
    encoding: 'utf8',
    timeout: 60_000,
  })
  assert.equal(stderr, '')
  return JSON.parse(stdout)
}
