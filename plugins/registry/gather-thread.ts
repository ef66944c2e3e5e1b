import { parentPort, workerData } from 'node:worker_threads'
import { Breath } from './breath.js'
import { gather, type Job } from './gather.js'
import { buffersOf } from './payloads.js'

// What goes wrong here ends the thread, which is told to whoever waits for it.
const gathered = await gather(workerData as Job, Breath.held())
parentPort?.postMessage(gathered, buffersOf(gathered.chunks))
