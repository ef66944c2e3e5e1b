import assert from 'node:assert/strict'
import { test } from 'node:test'
import { targetUrl, webUrl } from 'sallyport/toolkit'

test('what is no URL is told as that, and not given to the checks that follow', () => {
  const options = {
    'expected an http or https URL': webUrl(),
    'expected a URL of http or https': targetUrl(),
  }
  for (const [message, option] of Object.entries(options)) {
    const strict = option.refine((url) => new URL(url).pathname !== '/', 'expected a path')
    for (const wrong of [
      '',
      'collector:4318',
      'ftp://a/b',
      'http://[a',
      'http://a:65536/mcp',
      'http://a b/',
    ]) {
      const { error } = strict.safeParse(wrong)
      assert.deepEqual(
        error?.issues.map((issue) => issue.message),
        [message],
        wrong,
      )
    }
    assert.equal(strict.safeParse('http://a/b').success, true)
  }
})
