import type { Problem } from 'sallyport'
import type { Io } from '../../io.js'
import type { Invocation } from '../../line/option.js'
import { valuesOf } from '../../line/values.js'
import { exitCode, printProblems, printWarnings } from '../../terminal.js'
import { tailCommand } from './flags.js'
import { filterOf } from './selection.js'
import { Output, showLines } from './show.js'
import { openSource } from './source.js'

const DEFAULT_COUNT = 20

type Values = ReturnType<typeof valuesOf<typeof tailCommand.groups>>

/** Shows and follows the matching events of an audit file. */
export async function tail({ positionals: [path = ''], options }: Invocation, io: Io): Promise<number> {
  const values = valuesOf(tailCommand.groups, options)
  const filtered = filterOf(values, Date.now())
  const problems = [...usageProblems(path, values), ...('problems' in filtered ? filtered.problems : [])]
  if ('problems' in filtered || problems.length > 0) return printProblems(problems, io)
  const source = await openSource({ ...values, path, stdin: io.stdin })
  if ('problem' in source) return printProblems([source.problem], io)

  const output = new Output(io.stdout)
  const isEndless = values.follow || 'stream' in source
  const signal = isEndless ? AbortSignal.any([interrupted(io), output.ended]) : output.ended
  const task = {
    ...values,
    io,
    path,
    source,
    filter: filtered.filter,
    output,
    signal,
    count: countOf(values),
  }
  const malformed = await showLines(task)
  await output.flush()
  if (malformed > 0 && !output.ended.aborted) {
    const [lines, was] =
      malformed === 1
        ? ['1 line is no audit event', 'was']
        : [`${malformed} lines are no audit events`, 'were']
    const place = path === '-' ? 'standard input' : path
    printWarnings([{ place, message: `${lines}, and ${was} skipped` }], io)
  }
  return exitCode.ok
}

function usageProblems(path: string, { rotated, lines }: Values): readonly Problem[] {
  const problems: Problem[] = []
  if (!/^(?:all|\d{1,9})$/.test(lines ?? 'all'))
    problems.push({ place: '--lines', message: 'a whole number of at least 0, or all, is expected' })
  if (rotated && path === '-')
    problems.push({ place: '--rotated', message: 'needs a file: standard input has no others beside it' })
  return problems
}

/** Aborts at the first signal; without a listener, the second signal ends the process. */
function interrupted({ signals }: Io): AbortSignal {
  const controller = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) signals.once(signal, () => controller.abort())
  return controller.signal
}

/** The number of lines that are shown first; `undefined` for all. */
function countOf({ lines, since, request, trace }: Values): number | undefined {
  if (lines !== undefined) return lines === 'all' ? undefined : Number(lines)
  return [since, request, trace].some((bound) => bound !== undefined) ? undefined : DEFAULT_COUNT
}
