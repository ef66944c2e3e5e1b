// What plugin authors test with, too: it is published as `sallyport/testing`.
export { booted, recordedLog, serving } from './booted.js'
export { listening } from './listening.js'
