import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Html, html } from 'sallyport/toolkit'
import { runs } from '#kit/runs.js'

const ENTITIES: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
}

/** As a browser reads it. */
const decoded = (text: string): string => text.replace(/&(?:\w+|#\d+);/g, (each) => ENTITIES[each] ?? each)

const hostile = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc
    .array(
      fc.constantFrom('<script>', '</p>', '">', "'>", ' onload=x', '<!--', '&', '&lt;', '&#39;', '`', '\\'),
    )
    .map((words) => words.join('')),
)

test('a value of any kind stays text between tags and in quoted attributes (XSS)', () => {
  fc.assert(
    fc.property(hostile, (value) => {
      const whole = String(html`<p title="${value}" class='${value}'>${value}</p>`)
      const [, double, single, text] =
        /^<p title="([^"<>]*)" class='([^'<>]*)'>([^<>]*)<\/p>$/.exec(whole) ?? []
      for (const written of [double, single, text]) {
        assert.equal(decoded(written ?? ''), value)
        // No ampersand but those that were written here.
        assert.doesNotMatch(written ?? '', /&(?!amp;|lt;|gt;|quot;|#39;)/)
      }
    }),
    { numRuns: runs(2_000) },
  )
})

test('parts of a page are joined unchanged, and their values are escaped once', () => {
  fc.assert(
    fc.property(fc.array(hostile), (values) => {
      const items = values.map((value) => html`<li>${value}</li>`)
      const list = String(html`<ul>${items}</ul>`)
      assert.equal(list, `<ul>${items.map(String).join('')}</ul>`)
      assert.deepEqual(
        [...list.matchAll(/<li>([^<]*)<\/li>/g)].map(([, text = '']) => decoded(text)),
        values,
      )
      // A list of texts is no way around it either.
      assert.equal(String(html`${[values]}`), values.map((value) => String(html`${value}`)).join(''))
    }),
  )
})

test('a value without text gives no text, and an object that resembles markup is escaped', () => {
  assert.equal(String(html`${undefined}${null}${false}${true}${0}${[]}|\n`), '0|\n')
  const forged = { toString: () => '<script>', text: '<script>' } as unknown as Html
  assert.throws(() => html`${forged}`, TypeError)
})
