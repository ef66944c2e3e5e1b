// Loaded before a program, it ends the process as `kill -9` does, just before `state/sqlite` stores a value.
// KILL_ONCE_THERE names a file that has to be there.
import { existsSync } from 'node:fs'
import { Worker } from 'node:worker_threads'

const { postMessage } = Worker.prototype

Worker.prototype.postMessage = function (message, ...rest) {
  if (message?.name === 'set' && existsSync(process.env.KILL_ONCE_THERE)) {
    process.kill(process.pid, 'SIGKILL')
    // SIGKILL comes a moment after it was sent; until then nothing else may run.
    for (;;);
  }
  return postMessage.call(this, message, ...rest)
}
