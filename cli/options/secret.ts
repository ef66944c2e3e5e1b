import type { GivenOptions } from './option.js'

/** A secret as the operator gave it: itself, or the file that holds it and is read again when it changes. */
export type SecretSetting =
  | { readonly value: string; readonly place: string }
  | { readonly file: string; readonly place: string }

/** The secret of `--NAME` and `--NAME-file`: a flag before the environment, and in each the value before the file. */
export function secretOf(name: string, given: GivenOptions): SecretSetting | undefined {
  const value = given.get(name)
  const file = given.get(`${name}-file`)
  const first = value?.source === 'environment' && file?.source === 'flag' ? undefined : value
  if (typeof first?.value === 'string') return { value: first.value, place: first.place }
  if (typeof file?.value === 'string') return { file: file.value, place: file.place }
  return undefined
}
