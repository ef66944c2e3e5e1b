import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { test } from 'node:test'
import { anchorsIn, linksIn } from './markdown.js'
import { pages, root, textOf } from './pages.js'

test('code in a page holds no links and headings', () => {
  const text = [
    '# One thing',
    '[a](b.md#c) `[no](code)` <img src="d.png" alt="x">',
    '```sh\n# no heading\n[no](fence)\n```',
    '## `sallyport run`, twice',
    '## One thing',
  ].join('\n')
  assert.deepEqual(linksIn(text), ['b.md#c', 'd.png'])
  assert.deepEqual(anchorsIn(text), ['one-thing', 'sallyport-run-twice', 'one-thing-1'])
})

test('every relative link leads to a file and a heading that exist', () => {
  const broken: string[] = []
  let looked = 0
  for (const page of pages()) {
    for (const link of linksIn(textOf(page)).filter((each) => !/^[a-z][a-z+.-]*:/i.test(each))) {
      looked += 1
      const [path = '', anchor] = link.split('#')
      const file = path === '' ? page : relative(root, join(root, dirname(page), path))
      if (!existsSync(join(root, file)) || file.startsWith('..')) broken.push(`${page}: no file for ${link}`)
      else if (anchor !== undefined && !anchorsIn(textOf(file)).includes(anchor))
        broken.push(`${page}: no heading for ${link}`)
    }
  }
  assert.ok(looked > 50)
  assert.deepEqual(broken, [])
})

test('links lead from the README to every page', () => {
  const all = pages()
  const reached = new Set(['README.md'])
  for (const page of reached) {
    for (const link of linksIn(textOf(page))) {
      const target = relative(root, join(root, dirname(page), link.split('#')[0] ?? ''))
      for (const file of [target, join(target, 'README.md')]) if (all.includes(file)) reached.add(file)
    }
  }
  const own = all.filter((page) => !page.startsWith('.github/ISSUE_TEMPLATE/'))
  assert.deepEqual(
    own.filter((page) => !reached.has(page)),
    [],
  )
})
