/**
 * Return the keys under which a city of the data is found: its complete name, then the name without its qualifier
 * (`frankfurtammain` and `frankfurt`, `halle`, `washington` for `Washington, D.C.`).
 */
export function cityKeys(name: string): readonly string[] {
  return [...new Set([nameKey(name), ...shorterForms(name).map(nameKey)])].filter(key => key !== '')
}

/**
 * Yield the keys for a written city name, the most literal first:
 * - as written, then without brackets
 * - without post code or district number (`Paris 15e`, `Dublin 4`)
 * - without `City of`, without a qualifier (`Frankfurt a.M.`)
 * - the part before a hyphen (`Berlin-Mitte`)
 *
 * Then yield the same keys with two-letter spellings of umlauts reduced (`Muenchen`).
 */
export function* lookUpKeys(written: string): Generator<string, void> {
  const whole = nameKey(written)
  yield whole
  const bare = withoutBrackets(written)
  const unnumbered = bare.replace(/(?<!\p{L})\d+\p{L}*/gu, ' ').trim()
  const untitled = unnumbered.replace(/^(city|town|ville|stadt|comune|ciudad) (of|de|di)\s/i, '')
  const keys = [bare, unnumbered, untitled, ...shorterForms(unnumbered), beforeHyphen(unnumbered)].map(nameKey)
  yield* keys
  yield* [whole, ...keys].map(key => key.replace(/([aou])e/g, '$1').replace(/aa/g, 'a'))
}

/**
 * Reduce a name to its letters and digits: without case, diacritics, punctuation and spaces. Greek and Cyrillic become
 * Latin letters; `Saint`, `Sankt`, `Sint` and `St.` become equal. Names in other scripts keep their letters.
 */
export function nameKey(name: string): string {
  return name
    .toLowerCase()
    .replace(/[\u0370-\u052f]+/gu, toLatin)
    .normalize('NFD')
    .replace(/\p{M}+/gu, '')
    .replace(/[ßæœøłđðþı]/g, letter => plainLetters[letter] ?? letter)
    .split(/[^\p{L}\p{N}]+/u)
    .map(word => shortWords.get(word) ?? word)
    .join('')
}

function shorterForms(name: string): readonly string[] {
  const head = withoutBrackets(name).split(/[,/;]/)[0] ?? ''
  const words = head.split(/[\s.-]+/)
  const cut = words.findIndex((word, index) => index > 0 && qualifiers.has(word.toLowerCase()))
  return [head, ...(cut > 0 ? [words.slice(0, cut).join(' ')] : [])]
}

const withoutBrackets = (name: string): string => name.replace(/[([{][^)\]}]*[)\]}]?/g, ' ')

/**
 * Return the part of a name before its first hyphen, without the word of the hyphen (`Berlin` for `Berlin
 * Prenzlauer-Berg`).
 */
const beforeHyphen = (name: string): string => {
  const at = name.search(/[-–—]/)
  if (at < 0) return name
  const head = name.slice(0, at)
  const words = head.split(/\s+/)
  const last = words.at(-1) ?? ''
  const isPartOfWord = name[at] === '-' && words.length > 1 && /^\p{Lu}\p{L}*$/u.test(last)
  return isPartOfWord ? head.slice(0, head.length - last.length) : head
}

/** First words of qualifiers, which distinguish cities of one name. */
const qualifiers = new Set('am an a auf aan bei by im in nad ob on op pod pri sur under upon vor'.split(' '))

const shortWords: ReadonlyMap<string, string> = new Map(
  Object.entries({ saint: 'st', sankt: 'st', sint: 'st', sainte: 'ste', mount: 'mt', fort: 'ft' }),
)

const plainLetters: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ı: 'i',
}

/**
 * Transliterate Cyrillic with Bulgarian readings if the alphabets differ, and Greek as on road signs. Accents are
 * removed, but й is not и.
 */
function toLatin(letters: string): string {
  return [
    ...letters
      .replaceAll('й', 'j')
      .normalize('NFD')
      .replace(/\p{M}+/gu, '')
      .replace(/ου/g, 'u'),
  ]
    .map(letter => latinLetters[letter] ?? letter)
    .join('')
}

const pairs = (script: string, readings: string): readonly (readonly [string, string])[] =>
  readings.split(' ').map((reading, index) => [[...script][index] ?? '', reading])

const latinLetters: Readonly<Record<string, string>> = Object.fromEntries([
  ...pairs('абвгдежзиклмнопрстуфхцчшщъьюя', 'a b v g d e zh z i k l m n o p r s t u f h ts ch sh sht a y yu ya'),
  ...pairs('јљњћђџіїєґыэ', 'j lj nj c d dz i i e g y e'),
  ...pairs('αβγδεζηθικλμνξοπρσςτυφχψω', 'a v g d e z i th i k l m n x o p r s s t y f ch ps o'),
])
