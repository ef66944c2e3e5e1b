// Loaded before a program, it ends the process as `kill -9` does, just before the Nth step that changes a file below a
// folder: KILL_BELOW names the folder, KILL_AT the step, `N/half` writes half of it first, KILL_ONCE_THERE a file that
// has to be there for a step to count. KILL_TRACE names a file that the steps are written to.
import { appendFileSync, existsSync } from 'node:fs'
import files from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'

const { KILL_BELOW = '', KILL_AT = '', KILL_ONCE_THERE, KILL_TRACE } = process.env
const [number, half] = KILL_AT.split('/')

const paths = new WeakMap()
let steps = 0

/** Whether this is the step before which nothing more happens. */
function isLast(name, path) {
  if (KILL_BELOW === '' || !String(path).startsWith(KILL_BELOW)) return false
  if (KILL_ONCE_THERE !== undefined && !existsSync(KILL_ONCE_THERE)) return false
  steps++
  if (KILL_TRACE !== undefined) appendFileSync(KILL_TRACE, `${name}\n`)
  return steps === Number(number)
}

// SIGKILL comes a moment after it was sent; until then nothing else may run.
function end() {
  process.kill(process.pid, 'SIGKILL')
  for (;;);
}

const step = (name, path) => {
  if (isLast(name, path)) end()
}

for (const name of ['rename', 'link', 'unlink']) {
  const real = files[name]
  files[name] = (path, ...rest) => {
    step(name, path)
    return real(path, ...rest)
  }
}

const open = files.open
files.open = async (path, flags, mode) => {
  if (flags?.includes('w')) step('open', path)
  const file = await open(path, flags, mode)
  paths.set(file, path)
  return file
}

const { writeFile } = files
files.writeFile = async (file, text, ...rest) => {
  if (isLast('write', paths.get(file))) {
    if (half !== undefined) await writeFile(file, text.slice(0, text.length / 2), ...rest)
    end()
  }
  return writeFile(file, text, ...rest)
}

const probe = await open(process.execPath)
const handle = Object.getPrototypeOf(probe)
const { sync } = handle
await probe.close()
handle.sync = function () {
  step('sync', paths.get(this))
  return sync.call(this)
}
syncBuiltinESMExports()
