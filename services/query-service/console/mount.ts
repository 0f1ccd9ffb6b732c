import type { createApp } from '../../platform/http/app.ts'
import { type ConsoleMeans, createConsole } from './console-pages.ts'

/** Serve the console at `/console` of an interface, which it uses as its callers do. */
export const mountConsole = (app: ReturnType<typeof createApp>, means: Omit<ConsoleMeans, 'fetch'>): void => {
  const show = createConsole({ ...means, fetch: (request, environment) => app.fetch(request, environment as object | undefined) })
  for (const path of ['/console', '/console/*']) app.all(path, ({ req, env }) => show(req.raw, env))
}
