import { spawnSync } from 'node:child_process'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { apiVersions } from '../../../../services/contract/api-version.ts'
import { operations } from '../../../../services/operations.ts'
import { jsonMarkup, jsonText, markCode } from '../../../../services/web/reference/code-markup.ts'
import { referenceOf } from '../../../../services/web/reference/document.ts'
import { curlCommand } from '../../../../services/web/reference/operation-section.ts'
import { html } from '../../../../services/web/ui-kit/html.ts'

const entities: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
}
const unescaped = (markup: string): string => markup.replace(/&\w+;|&#39;/g, entity => entities[entity] ?? entity)
const textOf = (markup: string): string => unescaped(markup.replace(/<[^<>]*>/g, ''))

describe('markup', () => {
  it('escapes any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('<', '>', '&', '"', "'", 'a', ';', '/', '$', '\\') }), text => {
        const markup = String(html`${text}`)
        expect(markup).not.toMatch(/[<>"']/)
        expect(unescaped(markup)).toBe(text)
        expect(textOf(String(markCode(text)))).toBe(text)
      }),
    )
  })

  it('shows complete JSON, as text and as markup', () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), value => {
        const text = jsonText(value)
        expect(JSON.stringify(JSON.parse(text))).toBe(JSON.stringify(value))
        expect(textOf(String(jsonMarkup(text)))).toBe(text)
      }),
    )
  })
})

/** Run commands in a shell and return the arguments of each curl call. */
const curlWords = (commands: readonly string[]): readonly (readonly string[])[] => {
  const script = `curl() { printf '%s\\0' "$@"; printf '\\1'; }\nKEY=t ACCOUNT_ID=a\n${commands.join('\n')}\n`
  const { stdout, stderr } = spawnSync('sh', ['-u'], { input: script, encoding: 'utf8' })
  expect(stderr).toBe('')
  return stdout
    .split('\x01')
    .slice(0, -1)
    .map(words => words.split('\0').slice(0, -1))
}

describe.each(apiVersions)('the requests of API version %s', async apiVersion => {
  const reference = await referenceOf(operations, apiVersion, () => Promise.resolve())
  const described = reference.groups.flatMap(group => group.operations)
  const words = curlWords(described.map(one => curlCommand(one, apiVersion, reference.version)))

  it('exist for every operation of the API version', () => {
    expect(words).toHaveLength(described.length)
    const served = operations.filter(one => one.routes[apiVersion].length > 0)
    expect(described.map(one => one.id).toSorted()).toEqual(served.map(one => one.id).toSorted())
  })

  it.each(described.map((one, index) => [one.id, one, words[index] ?? []] as const))(
    'match the declaration of %s',
    (_, one, sent) => {
      const value = (option: string): string | undefined => sent[sent.indexOf(option) + 1]
      const address = new URL(sent.find(word => word.startsWith('http')) ?? '')
      const pattern = new RegExp(`^${one.path.replace(/\{\w+\}/g, '[^/{}]+')}$`)
      expect(address.pathname).toMatch(pattern)
      const body = sent.includes('-d') ? value('-d') : undefined
      expect(sent.includes('-X') ? value('-X') : body === undefined ? 'GET' : 'POST').toBe(one.method)
      expect(body === undefined ? undefined : JSON.parse(body)).toEqual(
        JSON.parse(JSON.stringify(one.body?.media.example ?? null)) ?? undefined,
      )
      for (const { name, required } of one.parameters)
        if (required === true && !one.path.includes(name)) expect(address.searchParams.has(name)).toBe(true)
      const isOpen = operations.find(({ id }) => id === one.id)?.access === 'open'
      expect(/Bearer t|a:t/.test(sent.join(' '))).toBe(!isOpen)
    },
  )
})
