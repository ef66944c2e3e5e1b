import { Refusal } from '../contract/errors.js'
import { folded } from '../toolkit/folded.js'
import { MCP_METHODS } from './methods.js'

const FOLDED: ReadonlySet<string> = new Set([...MCP_METHODS.keys()].map(routed))

const INVISIBLE = /[\s\p{Cc}\p{Cf}]/u

/** Refuses a method that some server could take for one of MCP: it trims, folds case, or routes methods like paths. */
export function checkMethod(method: string): void {
  if (MCP_METHODS.has(method)) return
  if (INVISIBLE.test(method)) throw ambiguous('the method has white space or control characters')
  if (FOLDED.has(routed(method)))
    throw ambiguous('the method differs from one of MCP by case, slashes or characters that look alike')
}

function routed(method: string): string {
  return folded(method.normalize('NFKC'))
    .split('/')
    .filter((part) => part !== '')
    .join('/')
}

const ambiguous = (message: string): Refusal => new Refusal(400, 'MESSAGE_AMBIGUOUS', message)
