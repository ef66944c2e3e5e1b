// Loaded before a program: ends the process like `kill -9`, just before `state/sqlite` stores a value, once the file
// that KILL_ONCE_THERE names exists.
import { existsSync } from 'node:fs'
import { Worker } from 'node:worker_threads'

const { postMessage } = Worker.prototype

Worker.prototype.postMessage = function (message, ...rest) {
  if (message?.name === 'set' && existsSync(process.env.KILL_ONCE_THERE)) {
    process.kill(process.pid, 'SIGKILL')
    // SIGKILL arrives a moment after it was sent; until then nothing else may run.
    for (;;);
  }
  return postMessage.call(this, message, ...rest)
}
