import { readFileSync } from 'node:fs'

/** Languages of the Connect page: the locale of its number and date forms, and its own name. */
export const languages = {
  en: { locale: 'en-GB', name: 'English' },
  da: { locale: 'da-DK', name: 'Dansk' },
  de: { locale: 'de-DE', name: 'Deutsch' },
  es: { locale: 'es-ES', name: 'Español' },
  fr: { locale: 'fr-FR', name: 'Français' },
  it: { locale: 'it-IT', name: 'Italiano' },
  nl: { locale: 'nl-NL', name: 'Nederlands' },
  nb: { locale: 'nb-NO', name: 'Norsk' },
  pl: { locale: 'pl-PL', name: 'Polski' },
  sv: { locale: 'sv-SE', name: 'Svenska' },
} as const

export type Language = keyof typeof languages

export const languageNames = Object.keys(languages) as readonly Language[]

/** Return the language of a tag such as `de-AT`; undefined if the page has no such language. */
const languageOf = (tag: string): Language | undefined => {
  const [base = ''] = tag.trim().toLowerCase().split(/[-_]/)
  const name = base === 'no' || base === 'nn' ? 'nb' : base
  return languageNames.find(one => one === name)
}

/** Maximum number of entries of `Accept-Language` that count. */
const maxTags = 32

/** Return the tags of `Accept-Language`, the most wanted first. */
const acceptedTags = (header: string): readonly string[] =>
  header
    .split(',', maxTags)
    .map(entry => {
      const [tag = '', ...parameters] = entry.split(';').map(part => part.trim())
      const quality = parameters.find(part => part.startsWith('q='))
      return { tag, quality: quality === undefined ? 1 : Number(quality.slice(2)) }
    })
    .filter(({ quality }) => quality > 0)
    .toSorted((a, b) => b.quality - a.quality)
    .map(({ tag }) => tag)

/** Return the language of a request: `lang` of the address, then `Accept-Language`, then English. */
export const chooseLanguage = (lang: string | null, acceptLanguage: string | null): Language => {
  for (const tag of [lang ?? '', ...acceptedTags(acceptLanguage ?? '')]) {
    const language = languageOf(tag)
    if (language !== undefined) return language
  }
  return 'en'
}

/** Texts of the page by key. */
export type Texts = Readonly<Record<string, string>>

const known = new Map<Language, Texts>()

/** Read the texts of a language. Throws if the file is damaged. */
export const readTexts = (language: Language): Texts => {
  const texts =
    known.get(language) ??
    (JSON.parse(readFileSync(new URL(`texts/${language}.json`, import.meta.url), 'utf8')) as Texts)
  known.set(language, texts)
  return texts
}
