import type { LogOptions } from 'sallyport/embed'
import type { Invocation } from './line/option.js'
import { type LOG_LEVELS, logFlags } from './line/shared-flags.js'

type LogLevel = NonNullable<LogOptions['level']>

/** How a command that boots a list logs; `level` is that of the command where nobody says another. */
export function logOptions(
  { options }: Invocation,
  level: LogLevel = 'info',
): Pick<LogOptions, 'level' | 'pretty'> {
  const [levelFlag, formatFlag] = logFlags
  const format = options.get(formatFlag.name)?.value
  return {
    level:
      options.get('debug')?.value === true ? 'debug' : levelOf(options.get(levelFlag.name)?.value, level),
    ...(format !== undefined && { pretty: format === 'pretty' }),
  }
}

function levelOf(written: unknown, usual: LogLevel): LogLevel {
  // The command line was read by these very choices.
  const level = written as (typeof LOG_LEVELS)[number] | undefined
  return level === 'off' ? 'silent' : (level ?? usual)
}
