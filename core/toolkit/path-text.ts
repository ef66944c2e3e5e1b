/** A path as text: `auth.oauth.providers[0].audience`. */
export function pathText(path: readonly (string | number)[]): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`
    if (!/^[A-Za-z_][\w-]*$/.test(step)) return `${text}[${JSON.stringify(step)}]`
    return text === '' ? step : `${text}.${step}`
  }, '')
}

const STEP = /\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]|([^.[\]]+)/g

/** The path that `pathText` wrote as this text. */
export function pathOfText(text: string): readonly (string | number)[] {
  return [...text.matchAll(STEP)].map(([, index, quoted, name = '']) => {
    if (index !== undefined) return Number(index)
    return quoted === undefined ? name : String(JSON.parse(quoted))
  })
}
