import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { tables } from './tables/tables.js'

export const root = join(import.meta.dirname, '../..')

/** Every page of the tree, by its path from the top. */
export function pages(): string[] {
  const below = ['.github', 'cli', 'core', 'examples', 'plugins', 'test'].flatMap((top) =>
    readdirSync(join(root, top), { recursive: true, encoding: 'utf8' }).map((file) => `${top}/${file}`),
  )
  return ['README.md', ...below]
    .filter((file) => file.endsWith('.md') && !file.includes('node_modules/'))
    .toSorted()
}

export const textOf = (page: string): string => readFileSync(join(root, page), 'utf8')

const MARKED = /<!-- ([\w-]+): made by npm run docs -->\n[\s\S]*?<!-- end of \1 -->/g

/** The names of the tables that a page holds. */
export const tablesIn = (page: string): string[] =>
  [...textOf(page).matchAll(MARKED)].map(([, name = '']) => name)

/** A page with every table made again. */
export async function renewed(page: string): Promise<string> {
  const parts: string[] = []
  const text = textOf(page)
  let at = 0
  for (const { 0: whole, 1: name = '', index } of text.matchAll(MARKED)) {
    const make = tables[name]
    if (make === undefined) throw new Error(`${page}: no table is called ${name}`)
    parts.push(text.slice(at, index))
    parts.push(`<!-- ${name}: made by npm run docs -->\n${await make(page)}\n<!-- end of ${name} -->`)
    at = index + whole.length
  }
  return [...parts, text.slice(at)].join('')
}

export async function renewAll(): Promise<void> {
  for (const page of pages()) {
    const text = await renewed(page)
    if (text !== textOf(page)) writeFileSync(join(root, page), text)
  }
}

/** The fenced blocks of a language in a page, with the words behind it. */
export function blocks(page: string, language: string): { readonly words: string; readonly text: string }[] {
  const fence = new RegExp(`^\`\`\`${language}(?: (.*))?\\n([\\s\\S]*?)^\`\`\`$`, 'gm')
  return [...textOf(page).matchAll(fence)].map(([, words = '', text = '']) => ({ words, text }))
}
