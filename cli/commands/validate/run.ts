import { type LocatedValidation, validateLocated } from 'sallyport/server-json'
import type { Io } from '../../io.js'
import type { Invocation } from '../../line/option.js'
import { valuesOf } from '../../line/values.js'
import { exitCode, printProblems } from '../../terminal.js'
import { readServerFiles } from './documents.js'
import { validateCommand } from './flags.js'
import { issueLine } from './issue-line.js'

interface Judged {
  readonly file: string
  readonly validation: LocatedValidation
}

/** Checks documents by the rules of publishing, and prints every issue with its place. */
export async function validate({ options, positionals }: Invocation, io: Io): Promise<number> {
  const { json } = valuesOf(validateCommand.groups, options)
  const { files, problems } = await readServerFiles(positionals, io.stdin)
  const judged = files.map(({ file, bytes }) => ({ file, validation: validateLocated(bytes) }))
  io.stdout.write(json ? objects(judged) : lines(judged, io))
  if (problems.length > 0) return printProblems(problems, io)
  return judged.every(({ validation }) => validation.valid) ? exitCode.ok : exitCode.failed
}

/** One object in each line. */
const objects = (judged: readonly Judged[]): string =>
  judged
    .map(({ file, validation: { valid, name, version, issues } }) => ({ file, valid, name, version, issues }))
    .map((each) => `${JSON.stringify(each)}\n`)
    .join('')

function lines(judged: readonly Judged[], io: Io): string {
  const issues = judged.flatMap(({ file, validation }) =>
    validation.issues.map((issue) => issueLine(file === '-' ? '<stdin>' : file, issue, io)),
  )
  if (judged.length === 0) return ''
  const all = judged.flatMap(({ validation }) => validation.issues)
  const errors = all.filter(({ severity }) => severity === 'error').length
  const bad = judged.filter(({ validation }) => !validation.valid).length
  const found = `${counted(errors, 'error')}, ${counted(all.length - errors, 'warning')}`
  const verdict = bad === 0 ? 'valid' : `${bad} of them not valid`
  return `${[...issues, `${counted(judged.length, 'document')}, ${verdict}: ${found}`].join('\n')}\n`
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`
