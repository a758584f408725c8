//! The model of a search by a regular expression: it tries one way after the other, as the manual of ICU defines them.
//! Patterns are trees, so that the model does not read their texts.

use super::Choices;

/// A pattern.
#[derive(Debug, Clone)]
pub enum Pattern {
    Character(char),
    Any,
    /// One of these characters, or none of them.
    Class(Vec<char>, bool),
    Sequence(Vec<Pattern>),
    Alternatives(Vec<Pattern>),
    /// At least, at most, and whether fewer are better. What is repeated is not empty.
    Repeated(Box<Pattern>, usize, usize, bool),
    Group(Box<Pattern>, usize),
    Start,
    End,
}

const CHARACTERS: &[char] = &['a', 'b', 'A', 'ä', 'B'];
/// Groups of a pattern, at most.
const GROUPS: usize = 9;

/// The ends of the groups of a match, by their numbers; 0 is the whole match.
pub type Groups = [Option<(usize, usize)>; GROUPS + 1];

/// A way on behind a part of a pattern.
type Onward<'a> = &'a mut dyn FnMut(usize, &mut Groups, &mut usize) -> bool;

impl Pattern {
    /// A pattern that the bytes decide on. `groups`: the number of groups so far.
    pub fn chosen(choices: &mut Choices, depth: usize, groups: &mut usize) -> Pattern {
        let kinds = if depth == 0 { 5 } else { 9 };
        match choices.below(kinds) {
            0 | 1 => Pattern::Character(choices.one_of(CHARACTERS)),
            2 => Pattern::Any,
            3 => {
                let characters = (0..=choices.below(2)).map(|_| choices.one_of(CHARACTERS)).collect();
                Pattern::Class(characters, choices.below(3) == 0)
            }
            4 if choices.one_of(&[true, false]) => Pattern::Start,
            4 => Pattern::End,
            5 => {
                Pattern::Sequence((0..=choices.below(3)).map(|_| Pattern::chosen(choices, depth - 1, groups)).collect())
            }
            6 => {
                let count = 2 + choices.below(2);
                Pattern::Alternatives((0..count).map(|_| Pattern::chosen(choices, depth - 1, groups)).collect())
            }
            7 if *groups < GROUPS => {
                *groups += 1;
                let number = *groups;
                Pattern::Group(Box::new(Pattern::chosen(choices, depth - 1, groups)), number)
            }
            _ => {
                let repeated = Pattern::chosen(choices, depth - 1, groups);
                let (least, most) = choices.one_of(&[(0, 9), (1, 9), (0, 1), (2, 2), (1, 3), (0, 0)]);
                match repeated.can_be_empty() {
                    true => repeated,
                    false => Pattern::Repeated(Box::new(repeated), least, most, choices.below(3) == 0),
                }
            }
        }
    }

    fn can_be_empty(&self) -> bool {
        match self {
            Pattern::Character(_) | Pattern::Any | Pattern::Class(..) => false,
            Pattern::Sequence(parts) => parts.iter().all(Pattern::can_be_empty),
            Pattern::Alternatives(parts) => parts.iter().any(Pattern::can_be_empty),
            Pattern::Repeated(part, least, ..) => *least == 0 || part.can_be_empty(),
            Pattern::Group(part, _) => part.can_be_empty(),
            Pattern::Start | Pattern::End => true,
        }
    }

    /// The text of the pattern.
    pub fn text(&self) -> String {
        match self {
            Pattern::Character(c) => c.to_string(),
            Pattern::Any => ".".into(),
            Pattern::Class(characters, is_negated) => {
                let listed: String = characters.iter().collect();
                format!("[{}{listed}]", if *is_negated { "^" } else { "" })
            }
            Pattern::Sequence(parts) => parts.iter().map(|part| format!("(?:{})", part.text())).collect(),
            Pattern::Alternatives(parts) => {
                let parts: Vec<String> = parts.iter().map(Pattern::text).collect();
                format!("(?:{})", parts.join("|"))
            }
            Pattern::Repeated(part, least, most, is_lazy) => {
                let times = match (least, most) {
                    (0, 9) => "*".into(),
                    (1, 9) => "+".into(),
                    (0, 1) => "?".into(),
                    (least, most) => format!("{{{least},{most}}}"),
                };
                format!("(?:{}){times}{}", part.text(), if *is_lazy { "?" } else { "" })
            }
            Pattern::Group(part, _) => format!("({})", part.text()),
            Pattern::Start => "^".into(),
            Pattern::End => "$".into(),
        }
    }

    /// Tries the pattern at a position. `steps` falls with each try; a search without steps finds nothing.
    fn at(&self, text: &[char], from: usize, groups: &mut Groups, steps: &mut usize, onward: Onward) -> bool {
        if *steps == 0 {
            return false;
        }
        *steps -= 1;
        let one =
            |is: bool, groups: &mut Groups, steps: &mut usize, onward: Onward| is && onward(from + 1, groups, steps);
        let next = text.get(from).copied();
        match self {
            Pattern::Character(c) => one(next.is_some_and(|n| is_same(n, *c)), groups, steps, onward),
            Pattern::Any => one(next.is_some(), groups, steps, onward),
            Pattern::Class(characters, is_negated) => {
                let is_in = |n: char| characters.iter().any(|c| is_same(n, *c)) != *is_negated;
                one(next.is_some_and(is_in), groups, steps, onward)
            }
            Pattern::Start => from == 0 && onward(from, groups, steps),
            Pattern::End => from == text.len() && onward(from, groups, steps),
            Pattern::Sequence(parts) => sequence(parts, text, from, groups, steps, onward),
            Pattern::Alternatives(parts) => parts.iter().any(|part| part.at(text, from, groups, steps, onward)),
            Pattern::Group(part, number) => {
                let before = groups[*number];
                let found = part.at(text, from, groups, steps, &mut |end, groups, steps| {
                    let inner = groups[*number].replace((from, end));
                    onward(end, groups, steps) || {
                        groups[*number] = inner;
                        false
                    }
                });
                if !found {
                    groups[*number] = before;
                }
                found
            }
            Pattern::Repeated(part, least, most, is_lazy) => {
                let most = if *most == 9 { usize::MAX } else { *most };
                repeated(&Repetition { part, is_lazy: *is_lazy }, *least, most, text, from, groups, steps, onward)
            }
        }
    }

    /// The first match that begins at a position or behind it, with its groups. `None` if there is none, or if a search
    /// takes more steps than there are.
    pub fn search(&self, text: &[char], from: usize, steps: &mut usize) -> Option<Groups> {
        (from..=text.len()).find_map(|start| {
            let mut groups: Groups = Default::default();
            let found = self.at(text, start, &mut groups, steps, &mut |end, groups, _| {
                groups[0] = Some((start, end));
                true
            });
            found.then_some(groups)
        })
    }
}

/// Characters are compared without their case, as the default collation does.
fn is_same(a: char, b: char) -> bool {
    a.to_lowercase().eq(b.to_lowercase())
}

fn sequence(
    parts: &[Pattern],
    text: &[char],
    from: usize,
    groups: &mut Groups,
    steps: &mut usize,
    onward: Onward,
) -> bool {
    match parts.split_first() {
        None => onward(from, groups, steps),
        Some((first, rest)) => first
            .at(text, from, groups, steps, &mut |end, groups, steps| sequence(rest, text, end, groups, steps, onward)),
    }
}

struct Repetition<'a> {
    part: &'a Pattern,
    is_lazy: bool,
}

#[expect(clippy::too_many_arguments, reason = "the state of a search that tries one way after the other")]
fn repeated(
    of: &Repetition,
    least: usize,
    most: usize,
    text: &[char],
    from: usize,
    groups: &mut Groups,
    steps: &mut usize,
    onward: Onward,
) -> bool {
    if most == 0 {
        return onward(from, groups, steps);
    }
    if least == 0 && of.is_lazy && onward(from, groups, steps) {
        return true;
    }
    let once_more = of.part.at(text, from, groups, steps, &mut |end, groups, steps| {
        end > from && repeated(of, least.saturating_sub(1), most - 1, text, end, groups, steps, onward)
    });
    once_more || least == 0 && !of.is_lazy && onward(from, groups, steps)
}
