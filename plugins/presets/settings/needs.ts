import { keyOf, type SettingGroup } from './setting.js'

/** Whether what a row of a table `needs` is there, and what is said of a setting that needs it in vain. */
export type Needs<Settings> = Readonly<
  Record<string, readonly [isThere: (settings: Settings) => boolean, message: string]>
>

/** Refuses settings without effect: whoever wrote one believes that it does something. */
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
    const isAbsent = type === 'pair' ? Array.isArray(value) && value.length === 0 : value === undefined
    if (isAbsent || value === false || isThere === undefined || isThere(settings)) continue
    complain(keyOf(name), message ?? '')
  }
}
