/**
 * Makes an object for `util.inspect` to show: these facts, under this class name. Node prints the object with the
 * depth, colours and line breaks that the caller of `inspect` chose.
 */
export function portrait(className: string, facts: object): object {
  const Shown = { [className]: class extends Object {} }[className] ?? Object;
  return Object.assign(new Shown(), facts);
}
