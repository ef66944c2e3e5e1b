/** A path as it is read: `auth.oauth.providers[0].audience`. */
export function pathText(path: readonly (string | number)[]): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`
    if (!/^[A-Za-z_][\w-]*$/.test(step)) return `${text}[${JSON.stringify(step)}]`
    return text === '' ? step : `${text}.${step}`
  }, '')
}
