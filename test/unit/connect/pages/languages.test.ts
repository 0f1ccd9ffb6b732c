import { globSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { chooseLanguage, languageNames, readTexts } from '../../../../services/connect/pages/languages.ts'

const placesOf = (text: string): readonly string[] => (text.match(/\{\w+\}/g) ?? []).toSorted()
const english = readTexts('en')

describe('the texts of the Connect page', () => {
  it.each(languageNames)('have the keys and places of the English texts: %s', language => {
    const texts = readTexts(language)
    expect(Object.keys(texts)).toEqual(Object.keys(english))
    for (const [key, text] of Object.entries(texts)) {
      expect(text.trim(), key).not.toBe('')
      expect(placesOf(text), key).toEqual(placesOf(english[key] ?? ''))
    }
  })

  it('have a file for each language and no other file', () => {
    const files = globSync('services/connect/pages/texts/*.json').map(path => path.slice(path.lastIndexOf('/') + 1, -5))
    expect(files.toSorted()).toEqual(languageNames.toSorted())
  })

  it('are all used, and the modules use no other key', () => {
    const modules = globSync('services/connect/pages/*.{js,ts}').map(path => readFileSync(path, 'utf8'))
    const source = modules.join('\n')
    const families = [...source.matchAll(/(?:text|textIfKnown)\(`(\w+\.)\$\{/g)].map(([, family = '']) => family)
    for (const key of Object.keys(english))
      expect(source.includes(`'${key}'`) || families.some(family => key.startsWith(family)), key).toBe(true)
    for (const [, key = ''] of source.matchAll(/\btext\('([^']+)'/g)) expect(english[key], key).toBeDefined()
  })
})

describe('the language of the Connect page', () => {
  it.each([
    [null, null, 'en'],
    [null, 'de-AT,de;q=0.9,en;q=0.8', 'de'],
    [null, 'fi,sv;q=0.8,en;q=0.9', 'en'],
    [null, 'no', 'nb'],
    [null, 'nn-NO, en;q=0.5', 'nb'],
    [null, 'fr;q=0, it', 'it'],
    [null, 'toString, *', 'en'],
    ['pl', 'de', 'pl'],
    ['PT-br', 'es', 'es'],
    ['es_ES', 'de', 'es'],
    [null, `${'xx,'.repeat(100)}de`, 'en'],
  ])('for lang %s and Accept-Language %s is %s', (lang, header, language) =>
    expect(chooseLanguage(lang, header)).toBe(language),
  )
})
