"""Parts of the static model's training: texts, teacher, regression, format on disk."""
