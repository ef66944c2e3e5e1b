import type { McpCall } from '../contract/message.js'
import { endOfString, memberName } from './json-members.js'

declare global {
  // TypeScript's library lacks it.
  interface JSON {
    rawJSON(text: string): object
  }
}

const NUMBER = /[ \t\r\n]*(-?\d[\d.eE+-]*)/y
const MAX_LENGTH = 256

/** The id of a message, as its text writes it: JSON has numbers that JavaScript cannot represent. */
export function idTextIn(text: string): string | undefined {
  let depth = 0
  let [keyStart, keyEnd] = [0, 0]
  for (let index = 0; index < text.length; index++) {
    const letter = text[index]
    if (letter === '"') {
      keyStart = index
      index = endOfString(text, index)
      keyEnd = index + 1
    } else if (letter === ':' && depth === 1 && memberName(text.slice(keyStart, keyEnd)) === 'id') {
      NUMBER.lastIndex = index + 1
      const found = NUMBER.exec(text)?.[1]
      return found !== undefined && found.length <= MAX_LENGTH ? found : undefined
    } else if (letter === '{' || letter === '[') depth++
    else if (letter === '}' || letter === ']') depth--
  }
  return undefined
}

/** The id for an error reply, in the call's own spelling: clients find the call by it. */
export const replyId = ({ id = null, idText }: Pick<McpCall, 'id' | 'idText'>): unknown =>
  idText === undefined ? id : JSON.rawJSON(idText)

/** Whether the parsed value of an id has lost digits of its text. */
export const needsText = (id: unknown): boolean => typeof id === 'number' && !Number.isSafeInteger(id)
