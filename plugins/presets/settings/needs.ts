import { keyOf, type SettingGroup } from './setting.js'

/** Whether the setting that a row `needs` is present, and the message when it is not. */
export type Needs<Settings> = Readonly<
  Record<string, readonly [isThere: (settings: Settings) => boolean, message: string]>
>

/** Refuses settings without effect, which an operator would believe to work. */
export function refuseUseless<Settings extends object>(
  table: readonly SettingGroup[],
  settings: Settings,
  needs: Needs<Settings>,
  complain: (key: string, message: string) => void,
): void {
  const values = new Map<string, unknown>(Object.entries(settings))
  for (const { name, type, needs: needed } of table.flatMap(({ options }) => options)) {
    const [isThere, message] = (needed === undefined ? undefined : needs[needed]) ?? []
    const value = values.get(keyOf(name))
    const isRepeated = type === 'pair' || type === 'repeatable'
    const isAbsent = value === undefined || (isRepeated && Array.isArray(value) && value.length === 0)
    if (isAbsent || value === false || isThere === undefined || isThere(settings)) continue
    complain(keyOf(name), message ?? '')
  }
}
