import type { Scrubber } from '../contract/scrubber.js'

// Programs need these variables, also where a configuration takes a secret from one of them.
const NEEDED = /^(?:HOME|PATH|USER|LOGNAME|SHELL|TERM|LANG|TMPDIR|TZ|PWD|LC_\w+|XDG_\w+|SSH_AUTH_SOCK)$/

/** The environment of a program that a plugin starts: without the gateway's own variables and without secrets. */
export const childEnvironment = (scrubber: Scrubber): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(process.env).filter(
      ([name, value = '']) =>
        NEEDED.test(name) || !(/^(?:SALLYPORT|SERVICE)_/.test(name) || scrubber.knows(value)),
    ),
  )
