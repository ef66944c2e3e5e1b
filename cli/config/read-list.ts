import type { List, Problem } from 'sallyport'
import { isJsonObject } from 'sallyport/toolkit'
import { keyOf } from '#plugins/presets/settings/setting.js'
import type { Environment } from '../line/environment.js'
import type { Document } from './document.js'
import { readDocument } from './document.js'
import { type FilePreset, filePresets } from './file-presets.js'
import { mapped, type Result } from './result.js'
import { runSettings } from './run-file.js'

/** The list of a file of `sallyport run`, or of a preset's file. */
export async function readList(file: string, environment: Environment): Promise<Result<List>> {
  const { document, problems } = await readDocument(file, environment, 'mapping or list')
  return document === undefined ? { problems } : listSettings(document, problems)
}

/** Whether a file is one of `sallyport run`. */
const isListFile = (value: unknown): boolean =>
  Array.isArray(value) || (isJsonObject(value) && Object.keys(value).every((key) => key === 'plugins'))

function listSettings(document: Document, earlier: readonly Problem[]): Result<List> {
  const { value } = document
  if (isListFile(value)) return mapped(runSettings(document, earlier), ({ plugins }) => plugins)
  const written = isJsonObject(value) ? Object.keys(value) : []
  const known = ({ schema: { properties } }: FilePreset): number =>
    written.filter((key) => isJsonObject(properties) && keyOf(key) in properties).length
  // The sort is stable. Keys that are spelled as flags count too, so that the right preset reports them.
  const [preset] = filePresets().toSorted((a, b) => known(b) - known(a))
  return preset?.list(document, earlier) ?? { problems: earlier }
}
