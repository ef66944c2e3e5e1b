import { readDocument } from '../../config/document.js'
import { usesOf } from '../../config/plugin-flag.js'
import type { Result } from '../../config/result.js'
import { type RunSettings, runSettings } from '../../config/run-file.js'
import type { Io } from '../../io.js'
import type { Invocation } from '../../line/option.js'
import { internalPart } from '../../ready-line.js'
import { type GatewayCommand, runGateway } from '../../run-gateway.js'

/** Boots the list of plugins of a file. */
export const run = (invocation: Invocation, io: Io): Promise<number> => runGateway(command, invocation, io)

const command: GatewayCommand<RunSettings> = {
  read: readRunSettings,
  list: ({ plugins }) => plugins,
  readyLine: (_settings, addresses) => {
    const { main, public: outside } = addresses
    const internal = internalPart(addresses)
    if (main === undefined) return `sallyport run is up; no plugin of the list opens the main port${internal}`
    const reach = outside === undefined ? '' : `, reachable at ${outside}`
    return `sallyport run listening on ${main}${reach}${internal}`
  },
}

/** The settings of `sallyport run`, from its file and flags. */
export async function readRunSettings({
  options,
  environment,
  problems: earlier,
}: Invocation): Promise<Result<RunSettings>> {
  const config = options.get('config')?.value
  if (typeof config !== 'string') return { problems: earlier }
  const { document, problems } = await readDocument(config, environment, 'mapping or list')
  if (document === undefined) return { problems: [...earlier, ...problems] }
  return runSettings(document, [...earlier, ...problems], usesOf(options.get('plugin')))
}
