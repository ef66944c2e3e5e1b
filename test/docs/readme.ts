import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { tables } from './tables.js'

export const readmePath = join(import.meta.dirname, '../../README.md')

/** The README with every table made anew. */
export async function renewed(): Promise<string> {
  let text = readFileSync(readmePath, 'utf8')
  for (const [name, make] of Object.entries(tables)) {
    const [open, close] = [`<!-- ${name}: made by npm run docs -->`, `<!-- end of ${name} -->`]
    const [start, end] = [text.indexOf(open), text.indexOf(close)]
    if (start === -1 || end < start) throw new Error(`the README has no place for ${name}`)
    text = `${text.slice(0, start + open.length)}\n${await make()}\n${text.slice(end)}`
  }
  return text
}

/** The fenced blocks of a language, with the words behind it. */
export function blocks(language: string): { readonly words: string; readonly text: string }[] {
  const fence = new RegExp(`^\`\`\`${language}(?: (.*))?\\n([\\s\\S]*?)^\`\`\`$`, 'gm')
  return [...readFileSync(readmePath, 'utf8').matchAll(fence)].map(([, words = '', text = '']) => ({
    words,
    text,
  }))
}
