import type { BearerTokens } from '../../platform/bearer-token.ts'
import { html } from '../reference/html.ts'
import { pageAnswer, redirect } from './answer.ts'
import { type Fault, type FetchApi, logIn } from './api.ts'
import { isSecure, readOwnForm } from './forms.ts'
import { form, type View } from './frame.ts'
import { faultNotice, field, foreignForm } from './parts.ts'
import { cookieFor, formToken, newToken, type SessionMeans, sessionSeconds, signIn, tokenOf } from './session.ts'

export const signInPath = '/console/sign-in'

type Given = { readonly account: string; readonly next: string; readonly fault: Fault | null }

/** A page of the console to go on to; anything else leads to the overview. */
const safeNext = (next: string | null): string => (next !== null && /^\/console(?:\/[\w/-]*)?$/.test(next) ? next : '/console')

const view = (csrf: string, { account, next, fault }: Given, status = 200): View => ({
  title: 'Sign in',
  status,
  body: html`<h1>Sign in</h1>
<p class="lead">With the account id and an API key of it. The key decides between live and test mode, and what you may do.</p>
${fault === null ? null : faultNotice(fault)}
${form(
  csrf,
  signInPath,
  html`<input type="hidden" name="next" value="${next}">
${field('account', 'Account id', { value: account, required: true, hint: 'acc_ and 24 letters and digits' })}
${field('key', 'API key', { type: 'password', required: true, hint: 'sk_live_… or sk_test_…' })}
<button type="submit">Sign in</button>`,
)}`,
})

type SignInMeans = SessionMeans & { readonly fetch: FetchApi; readonly bearerTokens: Pick<BearerTokens, 'verify'> }

type Visitor = {
  readonly token: string
  readonly isNew: boolean
  readonly secure: boolean
  readonly headers: Headers
  /** What the HTTP adapter says of the socket. */
  readonly environment: unknown
}

const cookieOf = ({ token, isNew, secure }: Visitor) => (isNew ? { cookie: cookieFor('entry', token, { secure, seconds: null }) } : {})

/** A visitor without a token gets one, so that the form can be told from that of another site. */
const showSignIn = ({ secret }: SessionMeans, visitor: Visitor, query: URLSearchParams): Response => {
  const csrf = formToken(secret, visitor.token)
  const given = { account: '', next: safeNext(query.get('next')), fault: null }
  return pageAnswer(view(csrf, given), signInPath, { signedIn: null, csrf, ...cookieOf(visitor) })
}

const refusedStatus = (status: number): number => (status === 429 || status === 503 ? status : 401)

/** Sign a visitor in with what the form holds, under a token of its own; or show what is wrong with it. */
const takeSignIn = async (means: SignInMeans, visitor: Visitor, sent: URLSearchParams, at: number): Promise<Response> => {
  const [account, key, next] = [sent.get('account')?.trim() ?? '', sent.get('key')?.trim() ?? '', safeNext(sent.get('next'))]
  const csrf = formToken(means.secret, visitor.token)
  const again = (fault: Fault, status: number) =>
    pageAnswer(view(csrf, { account, next, fault }, status), signInPath, { signedIn: null, csrf })
  const wrong: Fault = { code: 'bad_credentials', message: 'The account id or the API key is wrong.', field: null }
  const loggedIn = await logIn(means, { accountId: account, key }, visitor)
  if (!loggedIn.ok) return again(loggedIn.fault.code === 'bad_credentials' ? wrong : loggedIn.fault, refusedStatus(loggedIn.status))
  const claims = await means.bearerTokens.verify(loggedIn.value.bearer_token, at)
  if (!claims.ok) return again(wrong, 401)
  const { accountId, liveMode, keyId } = claims.value
  const token = await signIn(means, { accountId, liveMode, keyId }, at)
  return redirect(next, { cookie: cookieFor('session', token, { secure: visitor.secure, seconds: sessionSeconds }) })
}

/** Show the way in, or take who comes by it. */
export const answerSignIn = async (
  means: SignInMeans,
  { request, environment }: { readonly request: Request; readonly environment: unknown },
  url: URL,
  at: number,
): Promise<Response> => {
  const token = tokenOf(request, 'entry')
  const { headers } = request
  const visitor = { token: token ?? newToken(), isNew: token === null, secure: isSecure(request, url), headers, environment }
  if (request.method !== 'POST') return showSignIn(means, visitor, url.searchParams)
  const sent = token === null ? null : await readOwnForm(request, means.secret, token)
  return sent === null
    ? pageAnswer(foreignForm, signInPath, { signedIn: null, csrf: '', ...cookieOf(visitor) })
    : takeSignIn(means, visitor, sent, at)
}
