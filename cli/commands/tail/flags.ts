import type { CommandDefinition } from '../../line/option.js'
import { asJson, general } from '../../line/shared-flags.js'

export const tailCommand = {
  name: 'tail',
  summary: 'Show, follow and filter the events of an audit file',
  description:
    'Reads the lines of an audit file, and prints one readable line for each event: time (UTC), outcome, caller, action, status, duration, reasons, and ID of the request. A printed event matches all filters. In the patterns, * stands for any text. For sums, give the output of --json to jq. The exit code is 0, also after an interrupt, 1 when reading fails half way, and 2 when the file cannot be read or the command line is wrong.',
  positionals: [
    { name: 'FILE', help: 'the file of the audit sink, or - for standard input', required: true },
  ],
  groups: general(
    {
      name: 'follow',
      type: 'boolean',
      short: 'f',
      help: 'Go on with new lines as they are written, also in a new file after a rotation; wait for a file that does not exist yet',
    },
    {
      name: 'lines',
      type: 'string',
      short: 'n',
      placeholder: 'COUNT|all',
      help: 'Show this number of the last matching lines first; by default 20, and all with --since, --request or --trace',
    },
    {
      name: 'rotated',
      type: 'boolean',
      help: 'Begin with the rotated files, FILE.1, FILE.2 and so on, the oldest first',
    },
    { ...asJson, help: 'Print the matching lines as they are, for programs such as jq' },
    {
      name: 'caller',
      type: 'string',
      placeholder: 'PATTERN',
      help: 'Only events of this caller: a subject, PROVIDER/SUBJECT, or an address',
    },
    { name: 'tool', type: 'string', placeholder: 'PATTERN', help: 'Only calls of these tools' },
    {
      name: 'outcome',
      type: 'list',
      choices: ['allowed', 'denied', 'failed'],
      help: 'Only events with this outcome',
    },
    {
      name: 'since',
      type: 'string',
      placeholder: 'TIME',
      help: 'Only events that ended since then: a duration such as 10m or 24h, or a time such as 2026-01-31T09:00:00Z',
    },
    { name: 'request', type: 'string', placeholder: 'ID', help: 'Only this request' },
    { name: 'trace', type: 'string', placeholder: 'ID', help: 'Only requests of this trace' },
  ),
  examples: [
    'sallyport tail audit.jsonl --follow',
    '# who was denied a tool in the last hour',
    "sallyport tail audit.jsonl --since 1h --outcome denied --tool '*'",
    '# for programs, such as jq for sums; rotated files too',
    "sallyport tail audit.jsonl --rotated --lines all --json --tool 'delete_*'",
  ],
} as const satisfies CommandDefinition
