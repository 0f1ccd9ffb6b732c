import { WattledgerError } from './errors.js'

/** Check the address of the service, and return it without white space and slashes at its ends. */
export const readBaseUrl = (given: unknown): string => {
  const text = typeof given === 'string' ? given.trim() : ''
  // The message does not repeat the address: it can be a key in the wrong place.
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text))
    throw new WattledgerError(
      'The base URL is wrong. Write http:// or https:// and a host: https://energy.example.com.',
    )
  let end = text.length
  while (text[end - 1] === '/') end -= 1
  return text.slice(0, end)
}

/** Check an API key, and return it without white space at its ends. No message contains the key. */
export const readApiKey = (given: unknown): string => {
  const text = typeof given === 'string' ? given.trim() : ''
  if (!/^[ -~]+$/.test(text))
    throw new WattledgerError(
      'The API key is missing, or has characters that no key has. Set a key sk_live_… or sk_test_….',
    )
  return text
}
