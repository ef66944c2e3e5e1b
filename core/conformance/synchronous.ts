import { messageOf } from './requirement.js'

/** What a call throws. A promise that it answers is reported by another requirement, and its failure by none. */
export function thrownBy(call: () => unknown): string | undefined {
  try {
    const answer = call()
    if (answer instanceof Promise) answer.catch(() => {})
    return undefined
  } catch (error) {
    return `it throws: ${messageOf(error)}`
  }
}

/** That a call answers nothing, since nobody waits for it. What it throws is reported by another requirement. */
export function answeredBy(call: () => unknown): string | undefined {
  let answer: unknown
  const thrown = thrownBy(() => {
    answer = call()
    return answer
  })
  return thrown !== undefined || answer === undefined ? undefined : 'it answers something, perhaps a promise'
}
