/**
 * What `util.inspect` shows instead of an object: these facts, under this name of a class. Node prints it as it prints any
 * object, so that depth, colours and line breaks are those that the caller chose.
 */
export function portrait(className: string, facts: object): object {
  const Shown = { [className]: class extends Object {} }[className] ?? Object;
  return Object.assign(new Shown(), facts);
}
